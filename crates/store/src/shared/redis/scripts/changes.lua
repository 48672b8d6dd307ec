forget()
-- `from` is where the piece before this one ended; without one this is the first.
local tag, seen, from, whole = take(), number(), maybe(), take() == '1'
local of = valid and epoch or string.rep('0', 16)
local last = tonumber(call('HGET', about, 'count') or '0')
if not from then
  local forgotten = tonumber(call('HGET', about, 'forgotten') or '0')
  whole = tag == '' or tag ~= string.sub(of, -6) or seen > last or seen < forgotten
  from = whole and 0 or seen
end
local flat = call('ZRANGEBYSCORE', by_change, '(' .. from, '+inf', 'WITHSCORES', 'LIMIT', 0, 2000)
local entries, bytes, till, more = {}, 0, tonumber(from), 0
for i = 1, #flat, 2 do
  if bytes > 4194304 then more = 1 break end
  local key = flat[i]
  local value = call('HGET', name, key)
  local ends, rest = nil, nil
  if value then ends, rest = string.match(value, '^(%d+):()') end
  till = tonumber(flat[i + 1])
  if ends and (now < tonumber(ends)) then
    local told = string.sub(value, rest)
    bytes = bytes + #key + #told
    entries[#entries + 1] = key
    entries[#entries + 1] = told
  end
end
if #flat == 4000 then more = 1 end
return { of, last, whole and 1 or 0, till, more, entries }
