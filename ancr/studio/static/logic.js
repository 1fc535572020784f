// What the views decide, without a page: tests/studio/logic.test.mjs runs it.

// Digits press the class of that name if there is one, otherwise the class at that place.
export function classOfKey(key, names) {
  if (names.includes(key)) return key;
  if (names.some((name) => /^\d$/.test(name))) return undefined;
  return names[key === "0" ? 9 : Number(key) - 1];
}

export function keyOfClass(name, place, names) {
  if (names.some((one) => /^\d$/.test(one))) return /^\d$/.test(name) ? name : null;
  return place < 10 ? String((place + 1) % 10) : null;
}

// The class that a person means by some letters: one of that name, the only one that begins so, or a new one.
export function matching(text, names) {
  const wanted = text.trim();
  if (names.includes(wanted)) return wanted;
  const begins = names.filter((name) => name.toLowerCase().startsWith(wanted.toLowerCase()));
  return wanted && begins.length === 1 ? begins[0] : wanted;
}

// A list may change by itself only while nobody looks at it closely.
export function mayReload({ inside, ticked }) { return !inside && !ticked; }

// What a page makes of news: the new state, or null if it must ask for everything, after the server was started anew.
export function merged(state, news) {
  if (news.start !== undefined && news.start !== state.start) return null;
  if (news.serial < state.serial) return state;
  const { touched, more, ...fields } = news;
  return { ...state, ...fields };
}
