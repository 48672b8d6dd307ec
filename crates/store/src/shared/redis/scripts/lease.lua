local account, by, open, most = take(), take(), number(), number()
local key, others, nodes = P .. 'lease:' .. account, 0, 0
local flat = call('HGETALL', key)
for i = 1, #flat, 2 do
  local has, seen = string.match(flat[i + 1], '^(%d+):(%d+)$')
  seen = math.max(tonumber(seen or '0'), tonumber(call('HGET', P .. 'members', flat[i]) or '0'))
  if now > seen + HERE then
    call('HDEL', key, flat[i])
  elseif flat[i] ~= by then
    others = others + tonumber(has or '0')
    nodes = nodes + 1
  end
end
local granted = math.min(open, math.max(0, most - others))
if open > 0 then
  call('HSET', key, by, string.format('%.0f:%.0f', granted, now))
  call('SADD', P .. 'leases:' .. by, account)
  call('PEXPIRE', P .. 'leases:' .. by, 7 * DAY)
  nodes = nodes + 1
else
  call('HDEL', key, by)
end
call('PEXPIRE', key, 7 * DAY)
return { now, granted, others, nodes }
