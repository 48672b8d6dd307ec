-- A table: its rows (until when, whether taken out, the value), and their keys by change and by end.
local name = P .. 'table:' .. take()
local by_change, by_end, about = name .. ':changed', name .. ':end', name .. ':about'
local function forget()
  -- A bounded piece of work for each call; what is left over is not told either.
  for _, key in ipairs(call('ZRANGEBYSCORE', by_end, '-inf', now, 'LIMIT', 0, 5000)) do
    local value = call('HGET', name, key)
    if value and string.match(value, '^%d+:(.)') == '-' then
      local change = tonumber(call('ZSCORE', by_change, key) or '0')
      if change > tonumber(call('HGET', about, 'forgotten') or '0') then call('HSET', about, 'forgotten', change) end
    end
    call('HDEL', name, key)
    call('ZREM', by_change, key)
    call('ZREM', by_end, key)
  end
end
