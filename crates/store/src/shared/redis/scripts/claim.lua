local by, span = take(), number()
local answer = { now }
for _ = 1, number() do
  local key = P .. 'claim:' .. take()
  local found = call('HMGET', key, 'by', 'until')
  if found[1] and found[1] ~= by and now < tonumber(found[2] or '0') then
    answer[#answer + 1] = { found[1], tonumber(found[2]) - now }
  else
    call('HSET', key, 'by', by, 'until', now + span)
    call('PEXPIRE', key, span + LOOSE)
    answer[#answer + 1] = {}
  end
end
return answer
