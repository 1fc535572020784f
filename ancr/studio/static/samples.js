// Samples by number, asked for when they are seen and forgotten when many others were seen since.
import { ask, latest } from "/static/api.js";
import { ranges } from "/static/logic.js";

const KEPT = 3000, AT_ONCE = 200;

// start(): the start of the server that numbers are of; changed(): called when samples came.
export function keeper(start, changed) {
  const known = new Map(), stale = new Set();
  let times = 0;  // what was on its way when everything was forgotten is of other samples
  const get = (numbers) => ask(`/api/samples?start=${start()}&numbers=${ranges(numbers)}`);

  const load = latest(async (numbers) => {
    const now = times, missing = numbers.filter((number) => !known.has(number) || stale.has(number));
    for (let i = 0; i < missing.length; i += AT_ONCE) {
      const part = missing.slice(i, i + AT_ONCE).sort((a, b) => a - b), samples = await get(part);
      if (now !== times) return;
      samples.forEach((sample, place) => { known.set(part[place], sample); stale.delete(part[place]); });
    }
    const wanted = new Set(numbers);
    for (const number of known.keys()) { if (known.size <= KEPT) break; if (!wanted.has(number)) known.delete(number); }
    if (missing.length) changed();
  });

  return {
    at: (number) => known.get(number),
    load,
    forget() { known.clear(); stale.clear(); times += 1; },
    // News make what is known of some samples, or of all, old; says whether there were any.
    hear(news) {
      const touched = new Set((news.touched || []).map((one) => one.id)), all = news.more || "guessed" in news;
      for (const [number, sample] of known) if (all || touched.has(sample.id)) stale.add(number);
      return stale.size > 0;
    },
    async promised(number) {
      if (known.has(number) && !stale.has(number)) return known.get(number);
      const now = times, [sample] = await get([number]);
      if (now === times) { known.set(number, sample); stale.delete(number); }
      return sample;
    },
  };
}
