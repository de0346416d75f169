package chdb

import "testing"

func TestParseError(t *testing.T) {
	for _, c := range []struct {
		text, message, name string
		code                int
	}{
		{"Code: 57. DB::Exception: Table t already exists. (TABLE_ALREADY_EXISTS)", "Code: 57. DB::Exception: Table t already exists. (TABLE_ALREADY_EXISTS)", "TABLE_ALREADY_EXISTS", 57},
		{"Code: 73. DB::Exception: Code: 73. DB::Exception: Unknown format X. (UNKNOWN_FORMAT) (version 26.5.1.1). (UNKNOWN_FORMAT) (version 26.5.1.1). (UNKNOWN_FORMAT)",
			"Code: 73. DB::Exception: Unknown format X. (UNKNOWN_FORMAT)", "UNKNOWN_FORMAT", 73},
		{"Error: Code: 36. DB::Exception: no\n", "Code: 36. DB::Exception: no", "", 36},
		{"out of luck", "Code: 1002. DB::Exception: out of luck", "", CodeUnknownException},
		{"", "Code: 1002. DB::Exception: ", "", CodeUnknownException},
	} {
		if e := parseError(c.text); e.Code != c.code || e.Name != c.name || e.Message != c.message {
			t.Errorf("%q: %+v", c.text, e)
		}
	}
}
