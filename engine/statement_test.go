package engine

import (
	"strings"
	"testing"
)

func TestParseStatement(t *testing.T) {
	for _, c := range []struct {
		sql, verb, format string
		many, outfile     bool
		fromFile          string // of an INSERT that awaits data in f
	}{
		{sql: "SELECT 1", verb: "SELECT"},
		{sql: "  -- c;\n/* ; FORMAT CSV */ select 1;", verb: "SELECT"},
		{sql: "# c\n#! c\nSELECT 1 ; -- end", verb: "SELECT"},
		{sql: "-- nothing"},
		{sql: ""},
		{sql: "(SELECT 1) UNION ALL (SELECT 2) FORMAT JSON", verb: "(", format: "JSON"},
		{sql: "SELECT 1; SELECT 2", verb: "SELECT", many: true},
		{sql: "CREATE TABLE t (a Int8); DROP TABLE t", verb: "CREATE", many: true},
		{sql: `SELECT ';', "a;b", ` + "`c;`" + `, 'it''s;', 'it\'s;'`, verb: "SELECT"},
		{sql: "SELECT $x$ ; FORMAT CSV $x$ FORMAT TSV", verb: "SELECT", format: "TSV"},
		{sql: "SELECT $1 FORMAT TSV", verb: "SELECT", format: "TSV"},
		{sql: "SELECT format('{}', 1) FROM t FORMAT CSV", verb: "SELECT", format: "CSV"},
		{sql: "SELECT format FROM t", verb: "SELECT"},
		{sql: "SELECT 1 AS format", verb: "SELECT"},
		{sql: "SELECT 1 FORMAT CSV SETTINGS max_threads = 1", verb: "SELECT", format: "CSV"},
		{sql: "SELECT 1 SETTINGS max_threads = 1 FORMAT CSV;", verb: "SELECT", format: "CSV"},
		{sql: "SELECT 1 INTO OUTFILE 'x' FORMAT CSV", verb: "SELECT", format: "CSV", outfile: true},
		{sql: "INSERT INTO t FROM INFILE 'x' FORMAT CSV", verb: "INSERT", format: "CSV", outfile: true, fromFile: "-"},
		{sql: "INSERT INTO t VALUES", verb: "INSERT", fromFile: "INSERT INTO t  FROM INFILE 'f' COMPRESSION 'none'  FORMAT Values"},
		{sql: "INSERT INTO db.t (a, `b;`) FORMAT Native", verb: "INSERT", format: "Native",
			fromFile: "INSERT INTO db.t (a, `b;`)  FROM INFILE 'f' COMPRESSION 'none' FORMAT Native"},
		{sql: "insert into table t settings async_insert=1, b='FORMAT' format CSV ;", verb: "INSERT", format: "CSV",
			fromFile: "insert into table t  FROM INFILE 'f' COMPRESSION 'none' settings async_insert=1, b='FORMAT' format CSV"},
		{sql: "INSERT INTO t SETTINGS max_threads=1 VALUES", verb: "INSERT",
			fromFile: "INSERT INTO t  FROM INFILE 'f' COMPRESSION 'none' SETTINGS max_threads=1 FORMAT Values"},
		{sql: "INSERT INTO values VALUES", verb: "INSERT", fromFile: "INSERT INTO values  FROM INFILE 'f' COMPRESSION 'none'  FORMAT Values"},
		{sql: "INSERT INTO format FORMAT CSV", verb: "INSERT", format: "CSV", fromFile: "INSERT INTO format  FROM INFILE 'f' COMPRESSION 'none' FORMAT CSV"},
		{sql: "INSERT INTO table (a) VALUES", verb: "INSERT", fromFile: "INSERT INTO table (a)  FROM INFILE 'f' COMPRESSION 'none'  FORMAT Values"},
		{sql: "INSERT INTO FUNCTION null('a Int8') FORMAT CSV", verb: "INSERT", format: "CSV",
			fromFile: "INSERT INTO FUNCTION null('a Int8')  FROM INFILE 'f' COMPRESSION 'none' FORMAT CSV"},
		{sql: "INSERT INTO `a``b`.\"t\" VALUES", verb: "INSERT", fromFile: "INSERT INTO `a``b`.\"t\"  FROM INFILE 'f' COMPRESSION 'none'  FORMAT Values"},
		{sql: "INSERT INTO t", verb: "INSERT", fromFile: "INSERT INTO t FROM INFILE 'f' COMPRESSION 'none'  FORMAT Values"},
		{sql: "INSERT INTO t (a) SETTINGS max_threads=1;", verb: "INSERT",
			fromFile: "INSERT INTO t (a)  FROM INFILE 'f' COMPRESSION 'none' SETTINGS max_threads=1 FORMAT Values"},
		{sql: "INSERT INTO t VALUES (1); (2)", verb: "INSERT"},
		{sql: "INSERT INTO t FORMAT CSV 1;2;3", verb: "INSERT", format: "CSV"},
		{sql: "INSERT INTO t SELECT 1", verb: "INSERT"},
		{sql: "INSERT INTO t (a) SELECT format FROM values('a Int8', 1)", verb: "INSERT"},
		{sql: "INSERT INTO t SELECT 1; SELECT 2", verb: "INSERT", many: true},
		{sql: "INSERT INTO t SETTINGS async_insert=0 SELECT 1", verb: "INSERT"},
		{sql: "'unclosed", verb: "'UNCLOSED"},
		{sql: `'\`, verb: `'\`},
		{sql: "/* unclosed"},
	} {
		t.Run(c.sql, func(t *testing.T) {
			s := parseStatement(c.sql)
			if s.verb != c.verb || s.format != c.format || s.many != c.many || s.outfile != c.outfile {
				t.Errorf("%q: verb %q format %q many %v outfile %v", c.sql, s.verb, s.format, s.many, s.outfile)
			}
			if s.awaitsData() != (c.fromFile != "") {
				t.Errorf("%q: awaits data: %v", c.sql, s.awaitsData())
			}
			if s.awaitsData() && c.fromFile != "-" {
				if got := s.fromFile("f"); got != c.fromFile {
					t.Errorf("%q from a file:\n got %q\nwant %q", c.sql, got, c.fromFile)
				}
			}
		})
	}
}

func FuzzParseStatement(f *testing.F) {
	f.Add("INSERT INTO t (a) SETTINGS x='y' FORMAT Native")
	f.Add("SELECT $a$ ; $a$, 'x''\\'', `b` /* c */ -- d\n FORMAT JSON; SELECT 2")
	f.Fuzz(func(t *testing.T, sql string) {
		s := parseStatement(sql)
		if s.text != sql {
			t.Fatal("text changed")
		}
		if s.awaitsData() {
			if got := s.fromFile("f"); !strings.HasPrefix(got, sql[:s.sourceAt]) || !strings.Contains(got, "INFILE 'f'") {
				t.Fatalf("%q", got)
			}
		}
	})
}
