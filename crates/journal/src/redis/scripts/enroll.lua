-- A number that no member has had before; none once they are used up.
local member = redis.call('HINCRBY', KEYS[1], 'members', 1)
if member > 65535 then return 0 end
return member
