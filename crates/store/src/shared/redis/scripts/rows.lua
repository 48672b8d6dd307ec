local answer = { now }
for _ = 1, number() do
  local up = take()
  local newer_row = too_new({ up })
  if newer_row then return newer_row end
  local fields, starts, counted, shares = {}, {}, {}, {}
  for field, value in pairs(row(up)) do
    fields[#fields + 1] = field
    fields[#fields + 1] = value
    local ledger, window = string.match(field, '^shared:(%a):(%d+)$')
    if ledger then
      local flat = call('HGETALL', shares_in(up, ledger, window))
      for i = 1, #flat, 2 do
        shares[#shares + 1] = { flat[i], ledger, tonumber(window), tonumber(flat[i + 1]) }
      end
    end
  end
  for _, ledger in ipairs({ 'q', 'g' }) do
    local low = '(' .. (now - keep(up, ledger))
    local newest = call('ZREVRANGEBYSCORE', starts_of(up, ledger), '+inf', low, 'WITHSCORES', 'LIMIT', 0, MOST_STARTS)
    starts[#starts + 1] = newest
    for _, lump in ipairs(lumps(up, ledger)) do
      if now < lump.at + counts(lump.window) then
        counted[#counted + 1] = { ledger, lump.window, lump.count, lump.at }
      end
    end
  end
  answer[#answer + 1] = { fields, starts[1], starts[2], counted, shares }
end
return answer
