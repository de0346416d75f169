package span

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSecondsPrint(t *testing.T) {
	for _, c := range []struct {
		value Seconds
		want  string
		human string
	}{
		{0, "0", "0 s"},
		{-300_000_000, "-0.3", "-300 ms"},
		{1, "0", "1 ns"},
		{-499, "0", "-499 ns"},
		{-500, "-0.000001", "-1 µs"},
		{500, "0.000001", "1 µs"},
		{1_000_000, "0.001", "1 ms"},
		{1_902_833_401, "1.902833", "1.903 s"},
		{999_999_999, "1", "1 s"},
		{99_950_000_000, "99.95", "100 s"},
		{15_001_462_000, "15.001462", "15.001 s"},
		{86_400_000_000_000, "86400", "86400 s"},
		{math.MaxInt64, "9223372036.854776", "9223372036.9 s"},
		{math.MinInt64, "-9223372036.854776", "-9223372036.9 s"},
	} {
		if got := c.value.String(); got != c.want {
			t.Errorf("%d ns prints %s, want %s", int64(c.value), got, c.want)
		}
		if got := c.value.Human(); got != c.human {
			t.Errorf("%d ns reads %q, want %q", int64(c.value), got, c.human)
		}
	}
}

func TestSecondsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := Seconds(rapid.Int64Range(-9e18, 9e18).Draw(t, "ns"))
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if _, decimals, _ := strings.Cut(string(data), "."); len(decimals) > 6 {
			t.Fatalf("%s has more than six decimals", data)
		}
		var back Seconds
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if off := (back - value).Duration().Abs(); off > 500*time.Nanosecond {
			t.Fatalf("%d became %s became %d", int64(value), data, int64(back))
		}
	})
}

func TestSecondsRead(t *testing.T) {
	for text, want := range map[string]Seconds{"1": 1e9, "-0.3": -3e8, "0.123456789": 123456789, "1e-3": 1e6, "null": 0, "0.1234567891": 123456789} {
		var got Seconds
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s is %d, %v; want %d", text, int64(got), err, int64(want))
		}
	}
	for _, text := range []string{`"1"`, "true", "1e300", "99999999999", "[]"} {
		var got Seconds
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s is taken as %d", text, int64(got))
		}
	}
}

func TestInferNeverOverwrites(t *testing.T) {
	var s Span
	if !s.Infer("a", "k", 1.0) || s.Infer("b", "k", 2.0) || !s.Infer("b", "l", 3.0) || !s.Infer("a", "m", 4.0) {
		t.Fatalf("%v", s.Attrs)
	}
	if s.Attrs["k"] != 1.0 || s.Attrs["deadline.inferred.rule"] != "a,b" || s.Attrs["deadline.inferred"] != true {
		t.Errorf("%v", s.Attrs)
	}
	if !s.InferredBy("a") || !s.InferredBy("b") || s.InferredBy("") || s.InferredBy("a,b") {
		t.Error("InferredBy")
	}
}
