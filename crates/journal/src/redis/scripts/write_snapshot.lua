-- One part of a snapshot that was begun.
local reign = redis.call('HMGET', KEYS[1], 'epoch', 'saving')
if reign[1] ~= ARGV[1] or reign[2] ~= KEYS[2] then return {'fenced', reign[1] or '0'} end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
return {'done'}
