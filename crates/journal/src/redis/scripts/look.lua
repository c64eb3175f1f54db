-- The log as it is, and for how much longer the lease runs.
local reign = redis.call('HMGET', KEYS[1], 'epoch', 'seq', 'chain', 'base_seq', 'base_chain',
  'member', 'grpc', 'http', 'until', 'lease')
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local left = (tonumber(reign[9] or '0')) - now
local lease = tonumber(reign[10] or '0')
if left > lease then
  -- The clock of this server was set back: nobody must wait for longer than a lease.
  left = lease
  redis.call('HSET', KEYS[1], 'until', string.format('%.0f', now + lease))
end
if left < 0 then left = 0 end
local answer = {}
for i = 1, 8 do answer[i] = reign[i] or '' end
answer[9] = string.format('%.0f', left)
return answer
