local node, of, more = take(), take(), take()
if not valid or of ~= epoch then return pulse(node) end
local refused = too_new(several())
if refused then return refused end
local named = several()
for _ = 1, number() do take_start() end
for _ = 1, number() do
  -- Never less than is recorded: this may be a repeat of what was true a while ago.
  local up, ledger, window, starts = take(), take(), number(), number()
  see(up, ledger, window * 1000)
  local has = tonumber(call('HGET', shares_in(up, ledger, window), node) or '0')
  if starts > has then note_share(node, up, ledger, window, starts) end
end
for _ = 1, number() do
  local up, span, reason = take(), number(), take()
  throttle(up, span, node, reason, now)
end
for _ = 1, number() do
  local up, ledger, window, most, told, at = take(), take(), number(), number(), maybe(), number()
  limit(up, ledger, window, most, told, at, false)
end
for _ = 1, number() do
  local up, what = take(), take()
  switch(up, what, false)
end
if more == '1' then return pulse(node) end
call('HSET', P .. 'handed', node, now)
call('PEXPIRE', P .. 'handed', LONG)
for _, other in ipairs(named) do
  if call('HEXISTS', P .. 'handed', other) == 0 then call('HSET', P .. 'known', other, 1) end
end
call('HDEL', P .. 'known', node)
call('PEXPIRE', P .. 'known', LONG)
look_again()
return pulse(node)
