// What a licence asks of those who release with it: SPDX expressions and licence texts into one of five kinds.

/** From the mildest to the strictest. `unknown` is last: nobody can say what it asks. */
export const licenceKinds = ['permissive', 'weak copyleft', 'copyleft', 'restricted', 'unknown']

const byName = [
  ['copyleft', /^(?:A?GPL|OSL|EUPL|SSPL|CECILL|CC-BY-SA|Sleepycat|QPL)\b/i],
  ['weak copyleft', /^(?:LGPL|MPL|EPL|CDDL|CPL|MS-RL|APSL|CECILL-C|CC-BY-ND)\b/i],
  ['restricted', /^(?:UNLICENSED|BUSL|Elastic|CC-BY-NC|PolyForm|Commons-Clause|FSL|Proprietary|Commercial)/i],
  [
    'permissive',
    /^(?:MIT|ISC|Apache|BSD|0BSD|Unlicense|CC0|CC-BY-\d|Zlib|BlueOak|Python|PSF|WTFPL|BSL-1|Artistic|X11|NCSA|Unicode|OFL|AFL|PostgreSQL|curl|Ruby|libpng|HPND|NTP|FTL|MIT-0|ODC-By|UPL|W3C|JSON|MulanPSL|Libpng|bzip2|OpenSSL|TCL|Vim|CDLA-Permissive)/i,
  ],
]

function kindOfName(name) {
  return byName.find(([, pattern]) => pattern.test(name))?.[0] ?? 'unknown'
}

const mildest = (a, b) => (licenceKinds.indexOf(a) <= licenceKinds.indexOf(b) ? a : b)
const strictest = (a, b) => (licenceKinds.indexOf(a) >= licenceKinds.indexOf(b) ? a : b)

/** Of `A OR B` one may choose, `A AND B` asks for both; `WITH` an exception makes a copyleft weak. */
export function kindOf(expression) {
  const tokens = (expression ?? '').match(/\(|\)|[^\s()/]+/g) ?? []
  // Some registries write `MIT/Apache-2.0`, which has always meant a choice.
  const slashed = !/\b(?:OR|AND|WITH)\b/i.test(expression ?? '') && (expression ?? '').includes('/')
  if (slashed) return tokens.map(kindOfName).reduce(mildest, 'unknown')
  const takes = word => word.test(tokens[0] ?? '') && tokens.shift()
  const or = () => {
    let kind = and()
    while (takes(/^or$/i)) kind = mildest(kind, and())
    return kind
  }
  const and = () => {
    let kind = one()
    while (takes(/^and$/i)) kind = strictest(kind, one())
    return kind
  }
  const one = () => {
    const token = tokens.shift()
    if (token === undefined || token === ')') return 'unknown'
    if (token === '(') {
      const kind = or()
      tokens.shift()
      return kind
    }
    const kind = kindOfName(token)
    if (!takes(/^with$/i)) return kind
    tokens.shift()
    return kind === 'copyleft' ? 'weak copyleft' : kind
  }
  const kind = or()
  return tokens.length === 0 ? kind : 'unknown'
}

const byText = [
  ['AGPL-3.0', /^.{0,200}GNU AFFERO GENERAL PUBLIC LICENSE/is],
  ['LGPL', /^.{0,200}GNU (?:LESSER|LIBRARY) GENERAL PUBLIC LICENSE/is],
  ['GPL-3.0', /^.{0,200}GNU GENERAL PUBLIC LICENSE\s+Version 3/is],
  ['GPL-2.0', /^.{0,200}GNU GENERAL PUBLIC LICENSE\s+Version 2/is],
  ['MPL-2.0', /^.{0,200}Mozilla Public License,?\s+(?:Version |v\. ?)2\.0/is],
  ['Apache-2.0', /Apache License,?\s+Version 2\.0/i],
  [
    'BSD-3-Clause',
    /Redistribution and use in source and binary forms[\s\S]*(?:Neither the name|may not be used to endorse)/i,
  ],
  ['BSD-2-Clause', /Redistribution and use in source and binary forms/i],
  ['MIT', /Permission is hereby granted, free of charge, to any person obtaining a copy/i],
  ['ISC', /Permission to use, copy, modify, and(?:\/or)? distribute this software/i],
  ['Unlicense', /This is free and unencumbered software released into the public domain/i],
  ['CC0-1.0', /CC0 1\.0 Universal/i],
]

/** The licence whose text this is, as far as its best known sentences tell. */
export function licenceOfText(text) {
  return byText.find(([, pattern]) => pattern.test(text))?.[0]
}
