-- What is known of a question; for the asker its own claim is none.
local function question_of(key) return P .. 'question:' .. key end
local function look(key, fresh, asker)
  local found = call('HMGET', question_of(key), 'by', 'until', 'at', 'body')
  if not found[1] or not found[2] or now >= tonumber(found[2]) then return nil end
  if found[3] then
    local age = now - tonumber(found[3])
    if age > fresh then return nil end
    return { 'answered', now, found[1], age, found[4] or '' }
  end
  if found[1] == asker then return nil end
  return { 'claimed', now, found[1], tonumber(found[2]) - now }
end
