local node, heard, more = take(), number(), take()
local refused = too_new(several())
if refused then return refused end
for _ = 1, number() do take_start() end
if more == '1' then return now end
-- The node is back already: this was under way for long.
if heard < tonumber(call('HGET', P .. 'members', node) or '0') then return now end
for _, share in ipairs(shares_of(node)) do note_share(node, share[1], share[2], share[3], 0) end
for _, account in ipairs(call('SMEMBERS', P .. 'leases:' .. node)) do call('HDEL', P .. 'lease:' .. account, node) end
for _, up in ipairs(call('SMEMBERS', P .. 'configured:' .. node)) do set(up, 'configured:' .. node, nil) end
call('HDEL', P .. 'members', node)
call('DEL', P .. 'member:' .. node, P .. 'shares:' .. node, P .. 'leases:' .. node, P .. 'configured:' .. node)
return now
