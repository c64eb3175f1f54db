-- Records behind a position, until they are so many or have so many bytes together.
local answer, bytes, from = {}, 0, '(' .. ARGV[1] .. '-0'
local bytes_max, records_max = tonumber(ARGV[2]), tonumber(ARGV[3])
while bytes < bytes_max and #answer < 3 * records_max do
  local found = redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', 1)[1]
  if not found then break end
  local fields = found[2]
  answer[#answer + 1] = string.match(found[1], '^%d+')
  answer[#answer + 1] = fields[2]
  answer[#answer + 1] = fields[4]
  bytes = bytes + #fields[4]
  from = '(' .. found[1]
end
return answer
