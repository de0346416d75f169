package deadlineconnector

import "strings"

// labels numbers the values of enums; 0 is none.
type labels struct {
	numbers map[string]uint16
	all     []string
	// latest is what each metric asked for last.
	latest [metricCount]struct {
		label  string
		number uint16
	}
}

// maxLabels bounds the values of enums in one table: they are few where senders keep to the names.
const maxLabels = 1000

func newLabels() labels {
	return labels{numbers: map[string]uint16{}, all: []string{""}}
}

// number returns the number of a label, which need not be clean.
func (l *labels) number(m metricID, label string) uint16 {
	latest := &l.latest[m]
	if latest.label == label {
		return latest.number
	}
	label = text(label)
	number, ok := l.numbers[label]
	if !ok {
		if len(l.all) >= maxLabels && label != other {
			return l.number(m, other)
		}
		label = strings.Clone(label)
		number = uint16(len(l.all))
		l.all = append(l.all, label)
		l.numbers[label] = number
	}
	latest.label, latest.number = l.all[number], number
	return number
}
