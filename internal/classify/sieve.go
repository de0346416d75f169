package classify

import "slices"

// gram is four letters that follow each other, hashed.
type gram uint16

// sieve is which grams a text has: a text without those of a row cannot match it, which rules out nearly all rows at once.
type sieve [1 << (sieveBits - 6)]uint64

const sieveBits = 10

func gramAt(text string, i int) gram {
	_ = text[i+3]
	letters := uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16 | uint32(text[i+3])<<24
	return gram(letters * 0x9E3779B1 >> (32 - sieveBits))
}

func sieveOf(text string) (s sieve) {
	for i := range len(text) - 3 {
		g := gramAt(text, i)
		s[g>>6] |= 1 << (g & 63)
	}
	return s
}

func (s *sieve) has(g gram) bool { return s[g>>6]>>(g&63)&1 != 0 }

// gramsOf returns the first, the middle and the last gram of the longest piece, which has at least four letters.
func gramsOf(pieces []string) [3]gram {
	longest := slices.MaxFunc(pieces, func(a, b string) int { return len(a) - len(b) })
	last := len(longest) - 4
	return [...]gram{gramAt(longest, 0), gramAt(longest, last/2), gramAt(longest, last)}
}

// passes reports whether the text of the sieve may match.
func (m *matcher) passes(s *sieve) bool {
	return s.has(m.grams[0]) && s.has(m.grams[1]) && s.has(m.grams[2])
}
