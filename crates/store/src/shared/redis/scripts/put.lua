forget()
local keep = number()
local change = tonumber(call('HGET', about, 'count') or '0')
for _ = 1, number() do
  local key, value = take(), take()
  change = change + 1
  call('HSET', name, key, string.format('%.0f:', now + keep) .. value)
  call('ZADD', by_change, change, key)
  call('ZADD', by_end, now + keep, key)
end
call('HSET', about, 'count', change)
for _, key in ipairs({ name, by_change, by_end, about }) do
  if call('PTTL', key) < keep + LOOSE then call('PEXPIRE', key, keep + LOOSE) end
end
return { valid and epoch or string.rep('0', 16), change }
