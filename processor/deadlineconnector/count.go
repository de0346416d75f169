package deadlineconnector

import "context"

// count adds what a batch says to the series.
func (m *meter) count(ctx context.Context, b *batch) {
	var counted, twice int64
	defer func() { m.tell(ctx, counted, twice, b) }()
	if len(b.notes) == 0 {
		return
	}
	if m.window != nil {
		m.window.mark(b.notes)
	}
	for i := range b.notes {
		if n := &b.notes[i]; n.again {
			twice++
		} else if n.counts {
			counted++
		}
	}
	now := m.clock.now()
	// Requests that come at once begin with different shards.
	for i, turn := 0, int(m.turn.Add(1)); i < shards; i++ {
		which := (turn + i) % shards
		if first := b.shards[which].first; first != none {
			m.shards[which].count(m, b, first, now)
		}
	}
	for _, at := range b.unclean {
		o := &b.observations[at]
		m.countAt(o.place.clean(), b.values[o.from:o.to], &b.notes[o.note], now)
	}
	if m.skeletons != nil {
		m.find(b, now)
	}
}

// count adds the observations of a batch that belong to the shard, a list that begins at first.
func (s *shard) count(m *meter, b *batch, first int32, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// What is looked up far apart in memory is looked up first, for all, so that the waits for it overlap.
	for at := first; at != none; at = b.observations[at].next {
		o := &b.observations[at]
		if o.group = s.groups[o.hash]; o.group != nil && len(o.group.points) > 0 {
			o.start = o.group.points[0].start
		}
	}
	for at := first; at != none; at = b.observations[at].next {
		o := &b.observations[at]
		n := &b.notes[o.note]
		if n.again {
			continue
		}
		if o.group == nil && !o.place.valid() {
			b.unclean = append(b.unclean, at)
			continue
		}
		s.add(m, o.group, &o.place, o.hash, b.values[o.from:o.to], n, now)
	}
}

// countAt counts values at a place with clean labels.
func (m *meter) countAt(p place, values []value, n *note, now int64) {
	hash := m.ids.place(&p, m.ids.service(p.service))
	s := &m.shards[shardOf(hash)]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(m, nil, &p, hash, values, n, now)
}

// add counts values at a place, whose group it looks up if it is nil. The caller holds the lock.
func (s *shard) add(m *meter, g *group, p *place, hash uint64, values []value, n *note, now int64) {
	if g == nil {
		g = s.at(p, hash)
	}
	at := s.seconds(now)
	for i := range values {
		v := &values[i]
		if g == nil {
			m.spill(v, n, now)
			continue
		}
		p := s.table.add(g, v, n.n, at)
		if p == nil {
			m.spill(v, n, now)
			continue
		}
		if v.miss && m.config.Exemplars {
			g.example(p, exemplar{n.trace, n.span, v.amount, now, true})
		}
	}
}

// spill counts a value that no series is left for.
func (m *meter) spill(v *value, n *note, now int64) {
	m.spills.Add(1)
	s := &m.rest
	s.mu.Lock()
	defer s.mu.Unlock()
	total := *v
	total.label = ""
	g := s.order[0]
	p := s.table.add(g, &total, n.n, s.seconds(now))
	if v.miss && m.config.Exemplars {
		g.example(p, exemplar{n.trace, n.span, v.amount, now, true})
	}
}
