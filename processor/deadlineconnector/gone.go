package deadlineconnector

// gone remembers the latest series that expired. One that comes again is exported at zero first: who sees only the values, as
// Prometheus does, would take its first count for no change if the series had ended at it, and count nothing.
type gone struct {
	lines lines // nil until the first one
	count uint64
}

// goneSeries is how many are remembered in each table.
const goneSeries = 4096

func goneKey(g *group, m metricID, label uint16) uint64 {
	return (g.hash ^ uint64(m)<<16 ^ uint64(label)) * 0x9E3779B97F4A7C15
}

func (x *gone) add(g *group, m metricID, label uint16) {
	if x.lines == nil {
		x.lines = newLines(goneSeries)
	}
	x.count++
	x.lines.put(goneKey(g, m, label), x.count)
}

func (x *gone) has(g *group, m metricID, label uint16) bool {
	return x.lines != nil && x.lines.get(goneKey(g, m, label)) != 0
}
