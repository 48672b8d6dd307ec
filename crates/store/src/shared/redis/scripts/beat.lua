local node, name, version, addresses, lag, fresh = take(), take(), take(), take(), number(), take()
local heard, distrusted = number(), take()
-- One that was under way for long may wish for less than the node has got since.
local old = heard > 0 and heard < tonumber(call('HGET', P .. 'members', node) or '0')
local ups, wishes = several(), {}
for i = 1, number() do wishes[i] = { take(), take(), number(), number() } end

local begins = not valid or epoch == distrusted
if call('HEXISTS', P .. 'members', node) == 0 and call('HLEN', P .. 'members') >= MOST_MEMBERS then
  -- Whoever was silent for too long makes room below; in a new epoch all are waited for.
  local room = false
  for _, other in ipairs(begins and {} or call('HKEYS', P .. 'members')) do
    room = room or now >= last_seen(other) + SILENT
  end
  if not room then return redis.error_reply('WEIRMEMBERS too many') end
end
local needs = call('HGET', P .. 'member:' .. node, 'needs')
if tonumber(needs or '0') > KNOWN then return newer(needs) end
local refused = too_new(ups)
if refused then return refused end

if begins then
  -- Who is waited for comes before the epoch itself: whatever ends a script half way must not leave one that waits for nobody.
  -- Whoever was waited for before is so still, member or not.
  call('DEL', P .. 'handed')
  for _, member in ipairs(call('HKEYS', P .. 'members')) do call('HSET', P .. 'known', member, 1) end
  call('HSET', P .. 'known', node, 1)
  epoch, began = fresh, now
  call('HSET', P .. 'meta', 'epoch', epoch, 'run', ARGV[1], 'began', began)
  look_again()
-- Whoever comes while others are waited for may know something as well.
elseif handing_in() and call('HEXISTS', P .. 'handed', node) == 0 then
  call('HSET', P .. 'known', node, 1)
  look_again()
end
local handed = call('HGETALL', P .. 'handed')
for i = 1, #handed, 2 do
  if now >= tonumber(handed[i + 1]) + SILENT and call('HEXISTS', P .. 'members', handed[i]) == 0 then
    call('HDEL', P .. 'handed', handed[i])
  end
end
if now >= began + SILENT + 2 * DAY then
  for _, other in ipairs(awaited()) do
    if call('HEXISTS', P .. 'members', other) == 0 then call('HDEL', P .. 'known', other) end
  end
  look_again()
end
-- Members that were silent for too long are none any more; what they might have spent counts as spent now.
local members, flat = {}, call('HGETALL', P .. 'members')
for i = 1, #flat, 2 do
  members[#members + 1] = flat[i]
  seen_at[flat[i]] = tonumber(flat[i + 1])
end
table.sort(members)
for _, other in ipairs(members) do
  if now >= last_seen(other) + SILENT then
    for _, share in ipairs(shares_of(other)) do set_share(other, share[1], share[2], share[3], 0) end
    if other ~= node then
      call('HDEL', P .. 'members', other)
      seen_at[other], gone = 0, nil
      call('DEL', P .. 'member:' .. other, P .. 'shares:' .. other)
    end
  end
end
if call('HEXISTS', P .. 'members', node) == 0 then
  call('HSET', P .. 'member:' .. node, 'joined', now, 'met', 0)
end
call('HSET', P .. 'members', node, now)
seen_at[node], gone = now, nil
call('HSET', P .. 'member:' .. node, 'heard', heard, 'name', name, 'version', version, 'addresses', addresses, 'lag', lag, 'needs', KNOWN)
for _, key in ipairs({ 'meta', 'members', 'known', 'handed', 'member:' .. node, 'shares:' .. node, 'configured:' .. node }) do
  call('PEXPIRE', P .. key, LONG)
end
local known_to_all = met(node)
if known_to_all then call('HSET', P .. 'member:' .. node, 'met', 1) end
-- Who has yet to hand in keeps what it has: its shares are not all known here.
if not is_awaited(node) then
  local wished = {}
  for _, wish in ipairs(wishes) do wished[wish[1] .. ':' .. wish[2] .. ':' .. wish[3]] = true end
  for _, share in ipairs(shares_of(node)) do
    if not old and not wished[share[1] .. ':' .. share[2] .. ':' .. share[3]] then
      set_share(node, share[1], share[2], share[3], 0)
    end
  end
  for _, wish in ipairs(wishes) do
    local up, ledger, window, most = wish[1], wish[2], wish[3], wish[4]
    see(up, ledger, window * 1000)
    local key = shares_in(up, ledger, window)
    local has = tonumber(call('HGET', key, node) or '0')
    call('PEXPIRE', key, LONG)
    local wants = nominal(most)
    if wants < has and not old then
      set_share(node, up, ledger, window, wants)
    elseif wants > has then
      local others = reserved(up, ledger, window, most) - has
      local fits = others + wants <= math.floor(most / 2)
      if fits and used(up, ledger, window, nil) + others + wants <= most and certain(window) and known_to_all then
        set_share(node, up, ledger, window, wants)
      end
    end
    call('PEXPIRE', row_of(up), LONG)
  end
end
return pulse(node)
