-- One record behind the head that the leader knows, and a longer lease; nothing if the reign is over.
local reign = redis.call('HMGET', KEYS[1], 'epoch', 'seq', 'chain', 'until')
if reign[1] ~= ARGV[1] or (reign[4] or '0') == '0' then return {'fenced', reign[1] or '0'} end
if (reign[2] or '0') ~= ARGV[2] or (reign[3] or ARGV[3]) ~= ARGV[3] then
  return {'elsewhere', reign[2] or '0'}
end
redis.call('XADD', KEYS[2], ARGV[4] .. '-0', 'chain', ARGV[5], 'bytes', ARGV[6])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('HSET', KEYS[1], 'seq', ARGV[4], 'chain', ARGV[5],
  'lease', ARGV[7], 'until', string.format('%.0f', now + ARGV[7]))
return {'appended'}
