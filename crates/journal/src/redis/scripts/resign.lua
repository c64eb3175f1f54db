-- The end of this reign, if it is still the latest.
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'until', '0')
return 1
