-- What a node has configured for an upstream, noted at both: whoever leaves takes it along.
local function configure(up, node, value)
  local key = P .. 'configured:' .. node
  if value then call('SADD', key, up) else call('SREM', key, up) end
  call('PEXPIRE', key, LONG)
  set(up, 'configured:' .. node, value)
end
local up = take()
local newer_row = too_new({ up })
if newer_row then return newer_row end
for _ = 1, number() do
  local what = take()
  if what == 'unused' then
    local id = take()
    for _, ledger in ipairs({ 'q', 'g' }) do call('ZREM', starts_of(up, ledger), id) end
    if row(up).last_id == id then
      set(up, 'last', row(up).before)
      set(up, 'last_id', row(up).before and NOBODYS)
      set(up, 'before', nil)
    end
  elseif what == 'started' then
    local id, ledger, age, spaced = take(), take(), number(), take()
    started(up, id, ledger, age, spaced == '1')
  elseif what == 'throttled' then
    local span, by, reason, at = number(), take(), take(), number()
    throttle(up, span, by, reason, at)
  elseif what == 'limit' then
    local ledger, window, most, told, at = take(), number(), number(), maybe(), number()
    limit(up, ledger, window, most, told, at, true)
  elseif what == 'off' or what == 'on' then
    switch(up, what, true)
  elseif what == 'configured' then
    local teller, value, many, stranger = take(), take(), 0, nil
    for field in pairs(row(up)) do
      local other = string.match(field, '^configured:(.*)$')
      if other then
        many = many + 1
        local earlier = not stranger or other < stranger
        if earlier and call('HEXISTS', P .. 'members', other) == 0 then stranger = other end
      end
    end
    local full = many >= MOST_CONFIGURED and not row(up)['configured:' .. teller]
    if value == '' then
      configure(up, teller, nil)
    elseif not full or stranger then
      -- One that is no member any more makes room.
      if full then configure(up, stranger, nil) end
      configure(up, teller, value)
    end
  elseif what == 'cleared' then
    clear(up, number())
  end
end
return now
