-- A longer lease, unless the reign is over. One that has resigned has no end of its lease any more.
local reign = redis.call('HMGET', KEYS[1], 'epoch', 'until')
if reign[1] ~= ARGV[1] or (reign[2] or '0') == '0' then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('HSET', KEYS[1], 'lease', ARGV[2], 'until', string.format('%.0f', now + ARGV[2]))
return 1
