local answer = { now }
for _ = 1, number() do
  local key, fresh = take(), number()
  answer[#answer + 1] = look(key, fresh, nil) or { 'none' }
end
return answer
