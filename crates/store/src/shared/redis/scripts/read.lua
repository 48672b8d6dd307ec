-- KEYS: the streams. ARGV: how many entries of each at most, then for each the place after which. About four megabytes are told
-- at once, and at least one entry of each stream that has any.
local told, bytes = {}, 0
for i, key in ipairs(KEYS) do
  local after, entries = ARGV[i + 1], {}
  local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  if last and last[1] ~= after then
    local most = bytes > 4194304 and 1 or ARGV[1]
    for _, entry in ipairs(redis.call('XRANGE', key, '(' .. after, '+', 'COUNT', most)) do
      if bytes > 4194304 and #entries > 0 then break end
      bytes = bytes + #(entry[2][2] or '')
      entries[#entries + 1] = entry[1]
      entries[#entries + 1] = entry[2][2] or ''
    end
  end
  told[i] = { last and last[1] or '', entries }
end
return told
