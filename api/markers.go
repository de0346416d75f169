package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/storage"
)

// markers answers with the markers of a window, newest first.
func (s *Server) markers(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, "from", "to", "service", "environment", "observed", "limit", "cursor")
	at, limit := p.window(s.config.Now()), p.limit()
	q := storage.MarkerQuestion{
		Window: storage.Window{From: at.begin(), To: at.end()}, Service: p.name("service"), Environment: p.label("environment"),
		Limit: limit + 1, Skip: at.Offset,
	}
	if observed := p.boolean("observed"); observed != nil {
		q.Observed = *observed
	}
	if p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	found, err := s.config.Store.Markers(ctx, q)
	if err != nil {
		s.fail(c, err)
		return
	}
	found, next := cut(found, limit, at)
	c.JSON(http.StatusOK, rowsAnswer[storage.Marker]{Window: shapeWindow(at, 0), Watermark: s.watermark(), Rows: found, Next: next})
}

// newMarker is what a client says of a marker.
type newMarker struct {
	At          string `json:"at"`
	Title       string `json:"title"`
	Text        string `json:"text"`
	URL         string `json:"url"`
	Service     string `json:"service"`
	Environment string `json:"environment"`
	Version     string `json:"version"`
}

// addMarker writes a marker down.
func (s *Server) addMarker(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery)
	marker, bad := s.readMarker(c.Request.Body)
	if p.problem != nil {
		bad = p.problem
	}
	if bad != nil {
		bad.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	if err := s.config.Store.WriteMarker(ctx, marker); err != nil {
		s.fail(c, err)
		return
	}
	c.Header("Location", "/api/v1/markers/"+marker.ID)
	c.JSON(http.StatusCreated, marker)
}

func (s *Server) readMarker(body io.Reader) (storage.Marker, *problem) {
	var said newMarker
	if bad := readBody(body, &said, "marker", `{"title": "shop 1.4.0", "service": "shop", "version": "1.4.0"}`); bad != nil {
		return storage.Marker{}, bad
	}
	for _, field := range []struct {
		name, value string
		max         int
	}{
		{"title", said.Title, 200}, {"text", said.Text, 4000}, {"url", said.URL, 2000},
		{"service", said.Service, 300}, {"environment", said.Environment, 300}, {"version", said.Version, 300},
	} {
		if len(field.value) > field.max || !utf8.ValidString(field.value) || strings.ContainsRune(field.value, 0) {
			return storage.Marker{}, invalid(field.name, "not valid text of at most that length", "shorten it")
		}
	}
	at, err := parseInstant(orDefault(said.At, "now"), s.config.Now())
	if err != nil {
		return storage.Marker{}, invalid("at", err.Error(), "use RFC 3339, now, or now minus a length such as now-15m")
	}
	if said.Title == "" {
		if said.Title = strings.TrimSpace(said.Service + " " + said.Version); said.Version == "" {
			return storage.Marker{}, invalid("title", "missing", "say what happened in title, or which version was deployed in version")
		}
	}
	if u, err := url.Parse(said.URL); said.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return storage.Marker{}, invalid("url", "no address of a page", "use a complete http or https address")
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return storage.Marker{
		ID: hex.EncodeToString(id), At: at.UTC().Truncate(time.Microsecond), Title: said.Title, Text: said.Text, URL: said.URL,
		Service: hop.Name(said.Service), Environment: hop.Label(said.Environment), Version: hop.Label(said.Version),
	}, nil
}

var markerID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// marker returns the marker in the path, also a removed one.
func (s *Server) marker(ctx context.Context, c *gin.Context) (*storage.Marker, error) {
	return s.markerOf(ctx, c.Param("id"))
}

func (s *Server) markerOf(ctx context.Context, id string) (*storage.Marker, error) {
	id = strings.ToLower(id)
	if !markerID.MatchString(id) {
		return nil, invalid("id", "no id of a marker", "an id is 32 hexadecimal digits; laxity marker list shows them")
	}
	marker, err := s.config.Store.Marker(ctx, id)
	if err == nil && marker == nil {
		return nil, notFound("there is no marker "+id, "laxity marker list shows those that are; versions that were observed cannot be changed")
	}
	return marker, err
}

// removeMarker removes a marker; restoreMarker puts it back. Both may be repeated.
func (s *Server) removeMarker(c *gin.Context)  { s.setRemoved(c, true) }
func (s *Server) restoreMarker(c *gin.Context) { s.setRemoved(c, false) }

func (s *Server) setRemoved(c *gin.Context, removed bool) {
	ctx, cancel := question(c)
	defer cancel()
	marker, err := s.marker(ctx, c)
	if err == nil && marker.Removed != removed {
		marker.Removed = removed
		err = s.config.Store.WriteMarker(ctx, *marker)
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, marker)
}
