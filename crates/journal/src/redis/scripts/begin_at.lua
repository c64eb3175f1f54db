-- All parts of a snapshot are there: an empty log begins with it.
local reign = redis.call('HMGET', KEYS[1], 'epoch', 'saving', 'seq')
if reign[1] ~= ARGV[1] or reign[2] ~= KEYS[3] then return {'fenced', reign[1] or '0'} end
if reign[3] then return {'begun'} end
if redis.call('HLEN', KEYS[3]) ~= tonumber(ARGV[4]) then return {'torn'} end
redis.call('HSET', KEYS[1], 'snapshot', KEYS[3], 'snapshot_seq', ARGV[2], 'snapshot_chain', ARGV[3],
  'snapshot_parts', ARGV[4], 'snapshot_hash', ARGV[5],
  'seq', ARGV[2], 'chain', ARGV[3], 'base_seq', ARGV[2], 'base_chain', ARGV[3])
redis.call('HDEL', KEYS[1], 'saving')
return {'done'}
