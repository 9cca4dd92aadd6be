-- What the consume script answers, and how far it is: texts and letters so far.
local texts, letters, records = {}, {}, {}
local size, said = 0, 0
