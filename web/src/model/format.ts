/** Numbers, money and times as people read them, in the language of the page. */

const formats = new Map<string, Intl.NumberFormat>();

function numberFormat(locale: string, least: number, most: number): Intl.NumberFormat {
  const key = `${locale} ${least} ${most}`;
  let format = formats.get(key);
  if (!format) {
    format = new Intl.NumberFormat(locale, { minimumFractionDigits: least, maximumFractionDigits: most });
    formats.set(key, format);
  }
  return format;
}

export function number(value: number, locale: string, most = 2): string {
  return numberFormat(locale, 0, most).format(value);
}

/** Money with as many places as matter: two from a dollar on, else two digits that count. */
export function money(usd: number, locale: string): string {
  const size = Math.abs(usd);
  if (size === 0) return "$0";
  if (size >= 1) return `$${numberFormat(locale, 2, 2).format(usd)}`;
  const places = Math.min(6, Math.max(2, 1 - Math.floor(Math.log10(size))));
  if (size < 0.000001) return "<$0.000001";
  return `$${numberFormat(locale, places, places).format(usd)}`;
}

interface Units {
  ms: string;
  s: string;
  m: string;
  h: string;
  d: string;
}

const UNITS: Record<string, Units> = {
  en: { ms: " ms", s: " s", m: "m", h: "h", d: "d" },
  zh: { ms: " 毫秒", s: " 秒", m: " 分", h: " 小时", d: " 天" },
};

/** A length of time in at most two units. */
export function duration(milliseconds: number, locale: string): string {
  const units = UNITS[locale.slice(0, 2)] ?? UNITS.en!;
  const ms = Math.max(0, milliseconds);
  if (ms < 1) return `<1${units.ms}`;
  if (ms < 1000) return `${Math.round(ms)}${units.ms}`;
  if (ms < 9950) return `${numberFormat(locale, 1, 1).format(ms / 1000)}${units.s}`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds}${units.s}`;
  const tight = { ...units, s: units.s.trim() === "s" ? "s" : units.s };
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return pair(minutes, tight.m, seconds % 60, tight.s);
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return pair(hours, tight.h, minutes % 60, tight.m);
  return pair(Math.floor(hours / 24), tight.d, hours % 24, tight.h);
}

function pair(first: number, unit: string, second: number, small: string): string {
  return second === 0 ? `${first}${unit}` : `${first}${unit} ${second}${small}`;
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
];

/** A moment as seen from now, as in "2 hours ago". */
export function relative(moment: number, now: number, locale: string): string {
  const format = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
  const apart = moment - now;
  for (const [unit, size] of STEPS) {
    if (Math.abs(apart) >= size || unit === "second") return format.format(Math.trunc(apart / size), unit);
  }
  return "";
}

export function exact(moment: number, locale: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" }).format(moment);
}

export function share(part: number, locale: string): string {
  return new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 0 }).format(part);
}

export function signed(value: number, locale: string): string {
  return new Intl.NumberFormat(locale, { signDisplay: "exceptZero", maximumFractionDigits: 2 }).format(value);
}

/** A score: whole where it is whole, else with at most two places. */
export function score(value: number, locale: string): string {
  return number(value, locale, 2);
}
