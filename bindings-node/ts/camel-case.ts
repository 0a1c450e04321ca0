/** The core writes its JSON in snake_case, the same in all languages; objects of this package have names in camelCase. */

/** The same members under names in camelCase, and not deeper. */
export function camelCase<T>(members: object): T {
  const renamed = Object.entries(members).map(([name, value]) => [
    name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ]);
  return Object.fromEntries(renamed) as T;
}
