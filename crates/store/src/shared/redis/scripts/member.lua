-- Who takes part and what each has, for the scripts of members.
local function shares_of(node)
  local shares = {}
  for _, text in ipairs(call('SMEMBERS', P .. 'shares:' .. node)) do
    local up, ledger, window = string.match(text, '^(%x+):(%a):(%d+)$')
    local starts = up and call('HGET', shares_in(up, ledger, window), node)
    if starts then shares[#shares + 1] = { up, ledger, tonumber(window), tonumber(starts) } end
  end
  return shares
end
local function note_share(node, up, ledger, window, starts)
  local key, name = shares_in(up, ledger, window), up .. ':' .. ledger .. ':' .. window
  if starts > 0 then
    call('HSET', key, node, starts)
    call('PEXPIRE', key, LONG)
    call('SADD', P .. 'shares:' .. node, name)
    call('PEXPIRE', P .. 'shares:' .. node, LONG)
    set(up, 'shared:' .. ledger .. ':' .. window, 1)
  else
    call('HDEL', key, node)
    call('SREM', P .. 'shares:' .. node, name)
    if call('HLEN', key) == 0 then set(up, 'shared:' .. ledger .. ':' .. window, nil) end
  end
end
-- Gives a member this share; what it had more before counts as started now.
local function set_share(node, up, ledger, window, starts)
  local had = tonumber(call('HGET', shares_in(up, ledger, window), node) or '0')
  -- Counted first: whatever ends a script half way must not leave a share that is neither kept nor counted.
  if had > starts then count(up, ledger, window, had - starts) end
  note_share(node, up, ledger, window, starts)
end

local function pulse(node)
  local members, flat = {}, call('HGETALL', P .. 'members')
  for i = 1, #flat, 2 do
    local about = call('HMGET', P .. 'member:' .. flat[i], 'name', 'version', 'addresses', 'lag')
    members[#members + 1] = {
      flat[i], about[1] or '', about[2] or '', about[3] or '', tonumber(about[4] or '0'),
      now - tonumber(flat[i + 1])
    }
  end
  return { now, epoch or string.rep('0', 16), members, shares_of(node), missing() }
end
