package hop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/laxity-dev/laxity/internal/span"
)

// Batch is what one request of the exporter writes.
type Batch struct {
	Rows        []Row
	Quarantined []Quarantined
}

// Len counts the spans of the batch.
func (b *Batch) Len() int { return len(b.Rows) + len(b.Quarantined) }

// encodingVersion begins every encoded batch. A batch may wait in a queue on disk while the binary is replaced, so facts are
// named by their columns, and a decoder must go on reading the versions before its own.
const encodingVersion = 1

// ErrEncoding is returned for bytes that are not an encoded batch.
var ErrEncoding = errors.New("not an encoded batch of hops")

// Encode writes the batch for a queue. Every string is written once and referred to by number afterwards.
func (b *Batch) Encode() []byte {
	e := encoder{buf: make([]byte, 0, 64+96*len(b.Rows)), known: map[string]uint64{}}
	e.buf = append(e.buf, encodingVersion)
	e.uint(uint64(len(b.Rows)))
	for i := range b.Rows {
		e.row(&b.Rows[i])
	}
	e.uint(uint64(len(b.Quarantined)))
	for i := range b.Quarantined {
		e.quarantined(&b.Quarantined[i])
	}
	return e.buf
}

type encoder struct {
	buf   []byte
	known map[string]uint64
}

func (e *encoder) uint(n uint64) { e.buf = binary.AppendUvarint(e.buf, n) }
func (e *encoder) int(n int64)   { e.buf = binary.AppendVarint(e.buf, n) }
func (e *encoder) float(f float64) {
	e.buf = binary.LittleEndian.AppendUint64(e.buf, math.Float64bits(f))
}

// string writes the number of a known string, or 0 and the string.
func (e *encoder) string(s string) {
	if n, ok := e.known[s]; ok {
		e.uint(n)
		return
	}
	e.known[s] = uint64(len(e.known) + 1)
	e.uint(0)
	e.uint(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *encoder) row(r *Row) {
	e.buf = append(e.buf, r.Trace[:]...)
	e.buf = append(e.buf, r.Span[:]...)
	e.buf = append(e.buf, r.Parent[:]...)
	e.buf = append(e.buf, byte(r.Kind), byte(r.Status), flags(r.Entry, r.Answered, r.Exhausted))
	e.int(r.Start)
	e.int(r.Duration)
	e.float(r.Weight)
	e.int(r.PID)
	for _, s := range [...]string{r.Service, r.Name, r.StatusMessage, r.Route, r.Peer, r.Instance, r.Host, r.ServiceVersion, r.Environment, r.ErrorType} {
		e.string(s)
	}
	e.uint(uint64(len(r.OpenChildren)))
	for _, c := range r.OpenChildren {
		for _, s := range [...]string{c.Span, c.Stage, c.Peer, c.Cause} {
			e.string(s)
		}
	}
	e.uint(uint64(len(r.Links)))
	for _, l := range r.Links {
		e.buf = append(e.buf, l.Trace[:]...)
		e.buf = append(e.buf, l.Span[:]...)
	}
	e.uint(uint64(len(r.Values)))
	for _, v := range r.Values {
		e.string(Facts[v.Fact].Column)
		if Facts[v.Fact].Type >= Code {
			e.buf = append(e.buf, 1)
			e.string(v.Text)
		} else {
			e.buf = append(e.buf, 0)
			e.int(v.Bits)
		}
	}
}

// flags packs booleans, the first into the lowest bit.
func flags(all ...bool) (packed byte) {
	for i, set := range all {
		if set {
			packed |= 1 << i
		}
	}
	return packed
}

func (e *encoder) quarantined(q *Quarantined) {
	e.buf = append(e.buf, q.Trace[:]...)
	e.buf = append(e.buf, q.Span[:]...)
	e.buf = append(e.buf, q.Parent[:]...)
	e.buf = append(e.buf, byte(q.Kind))
	e.uint(q.Start)
	e.uint(q.End)
	for _, s := range [...]string{string(q.Reason), q.Service, q.Name, q.JSON} {
		e.string(s)
	}
}

// Decode reads what Encode wrote. Facts of columns that this binary does not know are left out.
func Decode(data []byte) (*Batch, error) {
	if len(data) == 0 || data[0] != encodingVersion {
		return nil, ErrEncoding
	}
	d := decoder{data: data[1:]}
	b := &Batch{}
	b.Rows = make([]Row, d.count(60))
	for i := range b.Rows {
		d.row(&b.Rows[i])
	}
	b.Quarantined = make([]Quarantined, d.count(40))
	for i := range b.Quarantined {
		d.quarantined(&b.Quarantined[i])
	}
	if d.broken || len(d.data) != 0 {
		return nil, fmt.Errorf("%w: cut or damaged", ErrEncoding)
	}
	return b, nil
}

// decoder reads; after the first thing that makes no sense it is broken and reads zeros.
type decoder struct {
	data   []byte
	known  []string
	broken bool
}

func (d *decoder) fail() { d.broken, d.data = true, nil }

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.data)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[size:]
	return n
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.data)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[size:]
	return n
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.data) {
		d.fail()
		return make([]byte, min(n, 16))
	}
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

// count reads the number of things that follow, each of at least least bytes.
func (d *decoder) count(least int) int {
	n := d.uint()
	if n > uint64(len(d.data)/least) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) string() string {
	if n := d.uint(); n > 0 {
		if n > uint64(len(d.known)) {
			d.fail()
			return ""
		}
		return d.known[n-1]
	}
	s := string(d.bytes(d.count(1)))
	d.known = append(d.known, s)
	return s
}

func (d *decoder) row(r *Row) {
	copy(r.Trace[:], d.bytes(16))
	copy(r.Span[:], d.bytes(8))
	copy(r.Parent[:], d.bytes(8))
	codes := d.bytes(3)
	r.Kind, r.Status = span.Kind(codes[0]), span.Status(codes[1])
	r.Entry, r.Answered, r.Exhausted = codes[2]&1 != 0, codes[2]&2 != 0, codes[2]&4 != 0
	r.Start, r.Duration = d.int(), d.int()
	r.Weight = math.Float64frombits(binary.LittleEndian.Uint64(d.bytes(8)))
	r.PID = d.int()
	for _, s := range [...]*string{&r.Service, &r.Name, &r.StatusMessage, &r.Route, &r.Peer, &r.Instance, &r.Host, &r.ServiceVersion, &r.Environment, &r.ErrorType} {
		*s = d.string()
	}
	if n := d.count(4); n > 0 {
		r.OpenChildren = make([]OpenChild, n)
		for i := range r.OpenChildren {
			c := &r.OpenChildren[i]
			for _, s := range [...]*string{&c.Span, &c.Stage, &c.Peer, &c.Cause} {
				*s = d.string()
			}
		}
	}
	if n := d.count(24); n > 0 {
		r.Links = make([]Link, n)
		for i := range r.Links {
			copy(r.Links[i].Trace[:], d.bytes(16))
			copy(r.Links[i].Span[:], d.bytes(8))
		}
	}
	n := d.count(3)
	if n > 0 {
		r.Values = make([]Value, 0, n)
	}
	for range n {
		var v Value
		i, known := factByColumn[d.string()]
		text := d.bytes(1)[0] == 1
		if text {
			v.Text = d.string()
		} else {
			v.Bits = d.int()
		}
		if v.Fact = i; known && text == (Facts[i].Type >= Code) {
			r.Values = append(r.Values, v)
		}
	}
}

func (d *decoder) quarantined(q *Quarantined) {
	copy(q.Trace[:], d.bytes(16))
	copy(q.Span[:], d.bytes(8))
	copy(q.Parent[:], d.bytes(8))
	q.Kind = span.Kind(d.bytes(1)[0])
	q.Start, q.End = d.uint(), d.uint()
	var reason string
	for _, s := range [...]*string{&reason, &q.Service, &q.Name, &q.JSON} {
		*s = d.string()
	}
	q.Reason = Reason(reason)
}
