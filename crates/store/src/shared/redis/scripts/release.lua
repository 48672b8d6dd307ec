local by = take()
for _ = 1, number() do
  local key = P .. 'claim:' .. take()
  if call('HGET', key, 'by') == by then call('DEL', key) end
end
return now
