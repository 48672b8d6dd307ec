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
    local field, value, many = 'configured:' .. take(), take(), 0
    for other in pairs(row(up)) do
      if string.sub(other, 1, 11) == 'configured:' then many = many + 1 end
    end
    if value == '' then
      set(up, field, nil)
    elseif many < MOST_CONFIGURED or row(up)[field] then
      set(up, field, value)
    end
  elseif what == 'cleared' then
    clear(up, number())
  end
end
return now
