-- All parts are there: it is the latest, and stands for the records that end before a position.
local reign = redis.call('HMGET', KEYS[1], 'epoch', 'saving', 'snapshot')
if reign[1] ~= ARGV[1] or reign[2] ~= KEYS[3] then return {'fenced', reign[1] or '0'} end
if redis.call('HLEN', KEYS[3]) ~= tonumber(ARGV[4]) then return {'torn'} end
redis.call('HSET', KEYS[1], 'snapshot', KEYS[3], 'snapshot_seq', ARGV[2], 'snapshot_chain', ARGV[3],
  'snapshot_parts', ARGV[4], 'snapshot_hash', ARGV[5])
redis.call('HDEL', KEYS[1], 'saving')
if reign[3] and reign[3] ~= KEYS[3] then redis.call('UNLINK', reign[3]) end
local last = redis.call('XREVRANGE', KEYS[2], '(' .. ARGV[6] .. '-0', '-', 'COUNT', 1)[1]
if last then
  redis.call('HSET', KEYS[1], 'base_seq', string.match(last[1], '^%d+'), 'base_chain', last[2][2])
  redis.call('XTRIM', KEYS[2], 'MINID', ARGV[6] .. '-0')
end
return {'done'}
