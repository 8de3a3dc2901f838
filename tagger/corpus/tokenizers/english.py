"""English tokenizer, by the rules of the English Web Treebank (those of the Penn Treebank, except at hyphens).

A piece is a stretch between white space. `don't` is `do n't`, `$5` is `$ 5`, `15-year` is `15 - year`; `e-mail`,
`U.S.`, `10:30`, `:-)` and web addresses stay whole. The words of a piece, joined, are the piece. Pieces are tokenized
independently, so the results of frequent ones are cached.

A sentence ends between two pieces, after a final mark, unless the dot belongs to an abbreviation or the next piece
begins in lower case.
"""

from __future__ import annotations

import re
from functools import lru_cache

PIECE = re.compile(r"\S{1,1000}")
MAX_CACHED_LENGTH = 30  # characters of a piece; longer ones rarely recur


def listed(text: str) -> list[str]:
    """Return the words of a list that is written as text."""
    return text.split()


# Abbreviations that never end a sentence
TITLES = listed("""
    Mr. Mrs. Ms. Messrs. Dr. Drs. Prof. Rev. Fr. Hon. Gen. Lt. Col. Maj. Capt. Cmdr. Sgt. Sen. Sens. Rep. Reps. Gov.
    Pres. Supt. Det. St. Sts. Ft. Mt. Nos. Vol. Sec. Fig. Figs. Pvt. Attn. Ph. PS. P.S. pp. vs. cf. e.g. i.e. eg. ie.
    approx.
""")
# Abbreviations that may end a sentence
ABBREVIATIONS = listed("""
    Jan. Feb. Apr. Jun. Jul. Aug. Sep. Sept. Oct. Nov. Dec. Mon. Tue. Tues. Wed. Thu. Thur. Thurs. Fri. Sat. Inc. Corp.
    Co. Cos. Ltd. LTD. Bros. Assn. Dept. dept. Univ. Jr. Sr. Esq. Ave. Blvd. Rd. Hwy. etc. al. esp. Esp. ext. Ext. eds.
    lb. lbs. oz. yrs. hrs. mins. Ariz. Calif. Colo. Conn. Fla. Ky. La. Md. Mich. Minn. Okla. Ont. Pa. Que. Tenn. Tex.
    Va. Wis.
""")
# A hyphen is a word, except after one of these
PREFIXES = listed("""
    anti arch co counter cross e ex intra inter mega micro mid mini mis multi neo non over post pre pro proto pseudo
    psycho quasi re semi socio sub super trans ultra un under vice
""")
UNITS = listed(r"a\.m p\.m A\.M P\.M am pm AM PM k K m mm cm km kg mg ml gb lb lbs oz ft mph hr hrs min mins yr yrs yo")
# Endings of file names and web addresses
ENDINGS = listed("""
    com org net edu gov mil int info biz us uk ca de fr au ru ie io eu jp tv doc docx xls xlsx ppt pdf txt htm html
    shtml php asp aspx jsp xml csv zip exe jpg jpeg gif png mp3 mp4 avi wav url dll bat
""")
# Words that begin a sentence after an abbreviation; a capital alone may begin a name
STARTERS = listed("""
    The This That These Those It He She We They I You In On At But And If When A An As There What How
""")
# Two words written as one, and the index where the second begins
NEGATED = listed("do does did ca wo is are was were has have had would could should must need ai")
FUSED = {
    "cannot": 3, "gonna": 3, "gotta": 3, "wanna": 3, "gimme": 3, "lemme": 3, "outta": 3, "alot": 1,
    "im": 1, "ive": 1, "thats": 4, "whats": 4, "theres": 5, "hes": 2, "shes": 3, "heres": 4,
    "youre": 3, "youve": 3, "youll": 3, "theyre": 4, "theyve": 4, "theyll": 4, "weve": 2,
} | {verb + "nt": len(verb) for verb in NEGATED}  # fmt: skip

QUOTE = "['’`´]"
CLITIC = rf"(?i:{QUOTE}(?:s|m|d|ll|re|ve)(?![^\W_]))"
NOT = rf"(?i:n{QUOTE}t(?![^\W_]))"
ADDRESS_END = r"""[^\s<>"'’.,;:!?)\]}]"""  # last character of an address
SUFFIX = rf"(?i:{'|'.join(ENDINGS)})"
WORD = re.compile(  # alternatives, in order of precedence
    rf"""
      (?:https?|ftp|file)://[^\s<>"]*{ADDRESS_END} | www\.[^\s<>"]*{ADDRESS_END}          # addresses
    | (?:mailto:)?[\w.+%&-]{{1,64}}@[^\W_](?:[\w.-]*[^\W_])?
    | [^\W_][\w-]{{0,62}}(?:\.[\w-]{{1,63}}){{0,8}}\.{SUFFIX}(?:/[^\s<>"]*{ADDRESS_END})?(?!\w)
    | (?<!\w)\.{SUFFIX}(?!\w)
    | [a-z]{{2,}}(?:\.[a-z-]{{2,}}){{2,9}}(?![.\w])                      # news groups
    | @\w+(?:\.\w+)* | \#[^\W\d_]\w+
    | (?<!\w)[:;=][-o^']?[)(DPp\]\[|/\\]+(?![\w/]) | (?<!\w)[(][:;=](?!\w) # faces
    | (?<!\w)>?:['-]?[(]+ | <3(?!\d) | \^_+\^
    | (?<!\w)[A-Z]\.(?=[A-Z]\w)                                           # J.Smith
    | (?<![^\W\d_])(?:[A-Za-z]\.){{2,}}(?:[A-Za-z](?!\w))?                   # U.S., U.S.A
    | (?<![^\W\d_])[A-Za-z]\.[A-Za-z](?!\w) | (?<!\w)[A-HJ-Z]\.(?![\w.])     # p.m, initials
    | (?<!\w)(?:{"|".join(map(re.escape, TITLES + ABBREVIATIONS))})(?![\w.])
    | (?<!\w)(?i:w/o?|b/c)(?!\w)
    | (?:\+?\d{{1,3}}[-./])?(?<!\d)\d{{3}}[-./]\d{{3}}[-.]\d{{4}}(?!\w)    # telephones
    | (?<!\d)\d{{3}}-\d{{4}}(?!\d)
    | \d{{1,4}}(?:/\d{{1,4}}){{1,2}}(?!\w)                                # dates
    | \d{{1,2}}-\d{{1,2}}-(?:\d{{4}}|\d{{2}})(?!\w)
    | [+]\d[\d.]*(?!\w)
    | \d+(?:[.,:]\d+)*(?=(?:{"|".join(UNITS)})(?![^\W_]))                 # 5 of 5pm
    | \d+(?:[.,:]\d+)*(?:{QUOTE}?s(?![^\W_])|(?i:st|nd|rd|th)(?!\w))?(?!\w)
    | \.\d+(?!\w) | {QUOTE}\d\ds?(?!\w)
    | '(?i:em|n|til|cause)(?!\w)
    | {NOT} | {CLITIC}
    | (?:US|[ACU])?\$+
    | (?i:{"|".join(PREFIXES)})-[^\W_]+(?={CLITIC}|\b)                    # re-elect
    | \w+?(?={NOT}) | \w+(?:&\w+)+ | \w+?(?={CLITIC})                     # do of don't, AT&T
    | \w+{QUOTE}[^\W\d_]{{2,}} | [A-Za-z]{QUOTE}[^\W\d_]+                 # Shi'ite, O'Hara
    | (?:\w|[\u0300-\u036f\u200b-\u200d])+
    | [.!?…]+ | [-=*~+]{{2,}} | ([<>\#/\\,])\1+ | \'\' | `` | ’’ | ‘‘ | -> | <- | =>
    | .
    """,
    re.X | re.S,
)
FINAL = re.compile(r"[.!?…]+")
FACE = re.compile(r"[:;=][-o^']?[)(DPp\]\[|/\\]+|<3")
TRAILING = re.compile(r"""[.,;:!?…)\]}"'”’»]+""")
CLOSING = frozenset("\"'”’)]}»") | {"''", "’’"}
OPENING = "\"'“‘([{«`*-<>#•"
VOWEL = re.compile(r"[aeiouyAEIOUY\d]")


def words(piece: str) -> tuple[str, ...]:
    """Split a piece into words; joined, they are the piece."""
    return cached_split(piece) if len(piece) <= MAX_CACHED_LENGTH else split(piece)


def split(piece: str) -> tuple[str, ...]:
    """Split a piece into words without the cache."""
    tokens = []
    for match in WORD.finditer(piece):
        word = match[0]
        cut = FUSED.get(word.lower())
        tokens += [word] if cut is None else [word[:cut], word[cut:]]
    return tuple(tokens)


cached_split = lru_cache(maxsize=1 << 14)(split)


def ends(before: list[str], following: str | None) -> bool:
    """Return whether a sentence ends after the words `before`; `following` is the next piece, None at a line end."""
    if before[-1].isalpha():
        return False
    last, lowest = len(before) - 1, max(0, len(before) - 6)
    while last > lowest and before[last] in CLOSING:
        last -= 1
    mark, word = before[last], before[last - 1] if last else ""
    if len(mark) > 1 and mark[-1] == "." and mark[-2].isalpha():  # an abbreviation
        return len(mark) > 2 and mark not in TITLES and following in STARTERS
    if not FINAL.fullmatch(mark) and not (word and FACE.fullmatch(mark)):
        return False
    if following is None:
        return True
    if TRAILING.fullmatch(following) or FACE.fullmatch(following):
        return False
    first = following.lstrip(OPENING)[:1]
    if word == "No" and first.isdigit():
        return False
    if not first.islower():
        return True
    if last < len(before) - 1 or (len(mark) > 1 and mark[-1] == "."):  # "Why?" he asked, and ... he went
        return False
    return mark != "." or VOWEL.search(word) is not None  # without a vowel it is an abbreviation: mfr., pkg.
