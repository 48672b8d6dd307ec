local node, id, up, ledger = take(), take(), take(), take()
local windows, sorted = {}, {}
for _ = 1, number() do
  local window, most = number(), number()
  windows[window] = most
end
local day_begins, gap, key = maybe(), maybe(), maybe()
local claim, fresh, wanted = number(), number(), number()
local newer_row = too_new({ up })
if newer_row then return newer_row end

local at = call('ZSCORE', starts_of(up, ledger), id)
if at then return { 'granted', tonumber(at) } end
if now > wanted then return { 'late', now } end
if key then
  local found = look(key, fresh, node)
  if found then return found end
end

local own = {}
for window in pairs(windows) do own[window] = true end
for field, value in pairs(row(up)) do
  local of, window = string.match(field, '^limit:(%a):(%d+)$')
  window = tonumber(window)
  if of == ledger and not own[window] then windows[window] = tonumber(string.match(value, '^(%d+):')) end
end
for window in pairs(windows) do sorted[#sorted + 1] = window end
table.sort(sorted)

if row(up).off then
  local it = row(up)
  return { 'refused', now, OFF_WAIT, 'off', it.off, it.off_by or '', it.off_reason or '', it.off_at or '0' }
end
-- The refusal that lasts longest, the first of several.
local longest_wait, why = 0, nil
local function consider(wait, reason)
  if wait > longest_wait then longest_wait, why = wait, reason end
end
if row(up).throttled then
  local it = row(up)
  consider(tonumber(it.throttled) - now, { 'throttled', it.throttled_by or '', it.throttled_reason or '' })
end
local limited = #sorted > 0
local unmet = limited and not met(node)
local hands = limited and (not valid or handing_in() or unmet)
-- Spacing alone waits for those who are there: they know the last start, and who wants to be left alone.
if not limited and gap and tonumber(gap) > 0 then hands = not valid or not settled() end
if hands and not why then
  local left = (valid and began or now) + (limited and #missing() > 0 and HAND_IN or SETTLE) - now
  consider(unmet and 1000 or math.max(1, math.min(left, 1000)), { 'handing in' })
elseif not hands then
  for _, window in ipairs(sorted) do
    local most, day = windows[window], nil
    if day_begins and window * 1000 == DAY then
      local into = (now % DAY + DAY - tonumber(day_begins) * 1000 % DAY) % DAY
      day = now - into
    end
    local left = math.max(0, most - reserved(up, ledger, window, most))
    local sum = used(up, ledger, window, day)
    if not certain(window) then
      -- How full it is nobody knows until then, or until all have said what they know.
      local wait = began + counts(window) - now
      consider(math.min(wait, UNCERTAIN_WAIT), { 'handing in' })
    elseif sum >= left then
      local wait
      if day then wait = day + DAY - now else wait = next_fit(up, ledger, window, sum, left) end
      consider(math.max(wait, 1), { 'window', window, sum, left })
    end
  end
  if gap and row(up).last then consider(tonumber(row(up).last) + tonumber(gap) - now, { 'gap' }) end
end
if why then
  local answer = { 'refused', now, longest_wait }
  for _, part in ipairs(why) do answer[#answer + 1] = part end
  return answer
end

for window in pairs(own) do see(up, ledger, window * 1000) end
local starts = starts_of(up, ledger)
call('ZREMRANGEBYSCORE', starts, '-inf', now - keep(up, ledger))
call('ZADD', starts, now, id)
lasts(starts, up, ledger)
call('PEXPIRE', row_of(up), LONG)
if gap then space(up, now, id) end
if key then
  call('DEL', question_of(key))
  call('HSET', question_of(key), 'by', node, 'claim', id, 'until', now + claim)
  call('PEXPIRE', question_of(key), claim + LOOSE)
end
return { 'granted', now }
