-- A new key for a snapshot of this reign; one that was begun and not finished is forgotten.
local reign = redis.call('HMGET', KEYS[1], 'epoch', 'saving')
if reign[1] ~= ARGV[1] then return {'fenced', reign[1] or '0'} end
if reign[2] then redis.call('UNLINK', reign[2]) end
local key = ARGV[2] .. redis.call('HINCRBY', KEYS[1], 'snapshots', 1)
redis.call('HSET', KEYS[1], 'saving', key)
return {'done', key}
