// {nav: {jobs: "Jobs"}} as {"nav.jobs": "Jobs"}.
export function flatten(areas) {
  return Object.fromEntries(Object.entries(areas).flatMap(([area, texts]) =>
    Object.entries(texts).map(([name, text]) => [`${area}.${name}`, text])));
}
