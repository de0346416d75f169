package storage

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Marker is a mark next to trends, such as a deployment.
type Marker struct {
	// ID is 32 hexadecimal digits.
	ID    string    `json:"id"`
	At    time.Time `json:"at"`
	Title string    `json:"title"`
	Text  string    `json:"text"`
	URL   string    `json:"url"`
	// Service and Environment say what it is about; empty means all of them.
	Service     string `json:"service"`
	Environment string `json:"environment"`
	Version     string `json:"version"`
	// Observed: nobody added it; a version of the service showed for the first time.
	Observed bool `json:"observed"`
	// Removed markers are not listed and can be put back.
	Removed bool `json:"removed"`
}

// MarkerQuestion asks for markers. Empty texts match any.
type MarkerQuestion struct {
	Window
	Service, Environment string
	// Observed asks for new versions of services too.
	Observed    bool
	Limit, Skip int
}

//go:embed queries/markers.sql
var markersSQL string

//go:embed queries/markers_observed.sql
var markersObservedSQL string

// Markers answers with the markers of a window, newest first.
func (db *DB) Markers(ctx context.Context, q MarkerQuestion) ([]Marker, error) {
	reach := q.Skip + q.Limit
	answer, err := db.markers(ctx, q.Window, q.Service, q.Environment, "", reach)
	if err != nil {
		return nil, err
	}
	if q.Observed {
		seen, err := db.observed(ctx, q, reach)
		if err != nil {
			return nil, err
		}
		answer = append(answer, seen...)
		slices.SortStableFunc(answer, func(a, b Marker) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) })
	}
	return answer[min(q.Skip, len(answer)):min(reach, len(answer))], nil
}

// Marker answers with one marker, also with a removed one; nil if there never was one.
func (db *DB) Marker(ctx context.Context, id string) (*Marker, error) {
	found, err := db.markers(ctx, Window{From: time.Unix(0, 0), To: time.Unix(0, 0)}, "", "", id, 1)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

func (db *DB) markers(ctx context.Context, w Window, service, environment, id string, limit int) ([]Marker, error) {
	answer := []Marker{}
	parameters := w.parameters()
	parameters["service"], parameters["environment"], parameters["id"] = service, environment, id
	parameters["limit"], parameters["skip"] = limit, 0
	err := db.ask(ctx, markersSQL, func(rows driver.Rows) error {
		var m Marker
		err := rows.Scan(&m.ID, instant{&m.At}, &m.Title, &m.Text, &m.URL, &m.Service, &m.Environment, &m.Version, &m.Removed)
		answer = append(answer, m)
		return err
	}, parameters)
	return answer, question("markers", err)
}

func (db *DB) observed(ctx context.Context, q MarkerQuestion, limit int) ([]Marker, error) {
	var answer []Marker
	parameters := q.parameters()
	parameters["before"] = max(q.From.Add(-baseline).UnixNano(), 0)
	parameters["service"], parameters["environment"], parameters["limit"] = q.Service, q.Environment, limit
	err := db.ask(ctx, markersObservedSQL, func(rows driver.Rows) error {
		m := Marker{Observed: true}
		err := rows.Scan(&m.Service, &m.Environment, &m.Version, instant{&m.At})
		digest := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", m.Service, m.Environment, m.Version))
		m.ID, m.Title = hex.EncodeToString(digest[:16]), m.Service+" "+m.Version
		answer = append(answer, m)
		return err
	}, parameters)
	return answer, question("observed versions", err)
}

// WriteMarker writes a marker; one with the same id is replaced.
func (db *DB) WriteMarker(ctx context.Context, m Marker) error {
	id, err := hex.DecodeString(m.ID)
	if err != nil || len(id) != 16 {
		return fmt.Errorf("marker: %q is no id", m.ID)
	}
	one := func(s string) []string { return []string{s} }
	return question("marker", db.insert(ctx, "markers", []column{
		{"id", "FixedString(16)", one(string(id))},
		{"at", "DateTime64(9, 'UTC')", []time.Time{m.At.UTC()}},
		{"title", "String", one(m.Title)},
		{"text", "String", one(m.Text)},
		{"url", "String", one(m.URL)},
		{"service", "String", one(m.Service)},
		{"environment", "String", one(m.Environment)},
		{"service_version", "String", one(m.Version)},
		{"removed", "Bool", []bool{m.Removed}},
	}))
}
