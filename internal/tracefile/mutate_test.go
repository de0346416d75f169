package tracefile

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// odd values that other tools have been seen to write where something else is due.
var odd = []string{`null`, `""`, `0`, `-1`, `1e400`, `9223372036854775808`, `true`, `[]`, `{}`, `[[]]`, `{"a":{"b":[1]}}`, `"\ud800"`,
	`"ffffffffffffffffffffffffffffffff"`, `18446744073709551615`, `"1609459200000000000"`, `0.1`}

// TestMutatedJSON puts odd values in the place of values, drops and doubles them, with the JSON staying well formed, so
// that every reader meets records whose parts have the wrong type.
func TestMutatedJSON(t *testing.T) {
	rounds := 150
	if os.Getenv("LAXITY_SOAK") != "" {
		rounds *= 100
	}
	texts := map[string][]byte{}
	for name, text := range made {
		texts[name] = []byte(text)
	}
	for _, s := range samples {
		if strings.HasSuffix(s.file, ".json") {
			texts[s.file] = readSample(t, s.file)
		}
	}
	for name, text := range texts {
		value, err := decodeJSON(text)
		if err != nil {
			continue // lines
		}
		random := rand.New(rand.NewPCG(1, uint64(len(text))))
		for round := range rounds {
			nodes := 0
			countNodes(value, &nodes)
			at := random.IntN(nodes)
			mutated, err := json.Marshal(mutate(value, &at, random))
			if err != nil {
				t.Fatal(err)
			}
			file, err := ReadAll(bytes.NewReader(mutated), Options{})
			if err == nil && file.Spans == 0 && file.Refused == 0 && file.Other == 0 {
				t.Fatalf("%s, round %d: neither spans nor a complaint: %s", name, round, mutated)
			}
			checkBatches(t, file)
			Spans(file.Resources)
		}
	}
}

func countNodes(v any, n *int) {
	*n++
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			countNodes(e, n)
		}
	case map[string]any:
		for _, e := range v {
			countNodes(e, n)
		}
	}
}

// mutate returns a copy of the value in which the node that at counts down to is another.
func mutate(v any, at *int, random *rand.Rand) any {
	*at--
	if *at == -1 {
		return json.RawMessage(odd[random.IntN(len(odd))])
	}
	switch v := v.(type) {
	case []any:
		var out []any
		for _, e := range v {
			before := *at
			e = mutate(e, at, random)
			if before >= 0 && *at < 0 { // the change was in here: drop or double it now and then
				switch random.IntN(4) {
				case 0:
					continue
				case 1:
					out = append(out, e)
				}
			}
			out = append(out, e)
		}
		if out == nil {
			out = []any{}
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for _, key := range sortedKeys(v) {
			before := *at
			e := mutate(v[key], at, random)
			if before >= 0 && *at < 0 && random.IntN(4) == 0 {
				continue
			}
			out[key] = e
		}
		return out
	}
	return v
}
