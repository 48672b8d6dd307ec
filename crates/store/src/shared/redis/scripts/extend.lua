local log, known_length = P .. 'log:' .. take(), number()
local within = maybe()
local length = call('LLEN', log)
local appended = length == known_length and (not within or (valid and epoch == within))
local many = number()
if appended then
  for _ = 1, many do call('RPUSH', log, take()) end
  length = length + many
end
call('PEXPIRE', log, 3 * LONG)
local entries, bytes, from = {}, 0, known_length
while from < length and #entries < 10000 and bytes < 4194304 do
  for _, entry in ipairs(call('LRANGE', log, from, math.min(from + 99, known_length + 9999))) do
    bytes = bytes + #entry
    entries[#entries + 1] = entry
  end
  from = from + 100
end
return { appended and 1 or 0, length, entries }
