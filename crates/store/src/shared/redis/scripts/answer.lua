local key, claim, keep, body = take(), take(), number(), take()
local found = call('HMGET', question_of(key), 'claim', 'until', 'at')
if found[1] ~= claim or found[3] or now >= tonumber(found[2] or '0') then return now end
if body == '-' then
  call('DEL', question_of(key))
else
  call('HSET', question_of(key), 'at', now, 'until', now + keep, 'body', string.sub(body, 2))
  call('PEXPIRE', question_of(key), keep + LOOSE)
end
return now
