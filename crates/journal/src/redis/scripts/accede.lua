-- A new reign, later than any that the log or the candidate knows, unless the lease of another member
-- runs.
local reign = redis.call('HMGET', KEYS[1], 'epoch', 'seq', 'chain', 'member', 'until')
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if tonumber(reign[5] or '0') > now and reign[4] ~= ARGV[1] then return {} end
local latest = math.max(tonumber(reign[1] or '0'), tonumber(ARGV[5]))
local epoch = string.format('%.0f', latest + 1)
redis.call('HSET', KEYS[1], 'epoch', epoch, 'member', ARGV[1], 'grpc', ARGV[2], 'http', ARGV[3],
  'lease', ARGV[4], 'until', string.format('%.0f', now + ARGV[4]))
return {epoch, reign[2] or '', reign[3] or ''}
