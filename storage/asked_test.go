package storage

import "testing"

func TestWhatNobodyAsksForIsLeftOut(t *testing.T) {
	const sql = `SELECT 1 FROM hops
WHERE ({service:String} = '' OR service = {service:String})
    AND NOT has({not_service:Array(String)}, if(service = ')', '', service))
    AND (isNull({late:Nullable(Bool)}) OR late = {late:Nullable(Bool)})
    AND entry
    AND (({stage:String} = '' AND {peer:String} = '') OR trace_id IN (
        SELECT trace_id FROM hops WHERE ({stage:String} = '' OR f('(') = {stage:String})
    ))
    AND (({stage:String} = '' OR a) AND (b OR c))
    AND (empty(arrayConcat({not_stage:Array(String)}, {not_peer:Array(String)})) OR x)
    AND ({other:String} = '' OR y)`
	nothing := map[string]any{
		"service": "", "not_service": []string{}, "late": nil, "stage": "", "peer": "", "not_stage": []string{}, "not_peer": []string{},
	}
	with := func(name string, value any) map[string]any {
		all := map[string]any{name: value}
		for other, v := range nothing {
			if other != name {
				all[other] = v
			}
		}
		return all
	}
	const (
		begin = "SELECT 1 FROM hops\n"
		end   = "\n    AND (({stage:String} = '' OR a) AND (b OR c))"
		other = "\n    AND ({other:String} = '' OR y)"
	)
	for name, test := range map[string]struct {
		parameters map[string]any
		want       string
	}{
		"nothing":           {nothing, begin + "WHERE true\n    \n    \n    AND entry\n    " + end + "\n    " + other},
		"a service":         {with("service", "shop"), begin + "WHERE ({service:String} = '' OR service = {service:String})\n    \n    \n    AND entry\n    " + end + "\n    " + other},
		"not late":          {with("late", false), begin + "WHERE true\n    \n    AND (isNull({late:Nullable(Bool)}) OR late = {late:Nullable(Bool)})\n    AND entry\n    " + end + "\n    " + other},
		"not from services": {with("not_service", []string{"a"}), begin + "WHERE true\n    AND NOT has({not_service:Array(String)}, if(service = ')', '', service))\n    \n    AND entry\n    " + end + "\n    " + other},
		"a peer": {with("peer", "store"), begin + `WHERE true
    
    
    AND entry
    AND (({stage:String} = '' AND {peer:String} = '') OR trace_id IN (
        SELECT trace_id FROM hops WHERE true
    ))` + end + "\n    " + other},
		"no peers": {with("not_peer", []string{"store"}), begin + "WHERE true\n    \n    \n    AND entry\n    " + end +
			"\n    AND (empty(arrayConcat({not_stage:Array(String)}, {not_peer:Array(String)})) OR x)" + other},
		"who knows": {nil, sql},
	} {
		if got := asked(sql, test.parameters); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
