// What a session looks like from outside: JSON, whatever the rules are.
#include <string.h>

#include "control/show.h"
#include "frames.h"
#include "rules.h"
#include "tests.h"

#define TEID 0x100u

static char text[UPF_MSG_MAX];

static const char *
show(struct rig *rig, uint32_t session)
{
	size_t length = show_session(&rig->base, session, text, sizeof(text));

	assert_true(length < sizeof(text));
	text[length] = '\0';
	return text;
}

// Brackets close in order, and strings end.
static void
assert_json(const char *at)
{
	char open[64];
	unsigned depth = 0;

	for (; *at != '\0'; at++) {
		assert_true((uint8_t)*at >= 0x20 && (uint8_t)*at < 0x7f);
		if (*at == '"') {
			for (at++; *at != '"'; at++) {
				assert_true(*at != '\0');
				at += *at == '\\';
			}
		} else if (*at == '{' || *at == '[') {
			assert_true(depth < sizeof(open));
			open[depth++] = *at;
		} else if (*at == '}' || *at == ']') {
			assert_true(depth > 0);
			assert_int_equal(open[--depth], *at == '}' ? '{' : '[');
		} else if (*at == ',') {
			assert_true(at[1] != ',' && at[1] != '}' && at[1] != ']');
			assert_true(at[-1] != '{' && at[-1] != '[');
		}
	}
	assert_int_equal(depth, 0);
}

static void
assert_says(const char *all, const char *what)
{
	if (strstr(all, what) == NULL)
		fail_msg("no %s in %s", what, all);
}

static void
rules_and_what_they_count(void **state)
{
	struct rig *rig = rig_create(2, true);
	struct session_rules_builder s;
	struct frame f;
	const char *is;

	(void)state;
	rules_usual(&s, 3, RIG_UE, TEID);
	s.qer[0].flags = UPF_QER_MBR | UPF_QER_GATE_DL_CLOSED;
	s.qer[0].mbr_ul = 1000000;
	s.qer[0].mbr_dl = 2000000;
	rules_install(rig, &s);
	frame_gpdu(&f, RIG_N3_ADDR, TEID, 9, &(struct ip_fields){.src = RIG_UE, .dst = RIG_REMOTE});
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	rig_count_sent(rig, UPF_PORT_N6);
	assert_int_equal(rig->shm.head->rules_octets, rig->sessions.arena.in_use);
	assert_true(rig->shm.head->rules_octets > 0);
	is = show(rig, 3);
	assert_json(is);
	assert_says(is, "{\"session\":3,\"incarnation\":");
	assert_says(is, "\"home_worker\":0,\"ue_ipv4\":\"10.45.0.1\"");
	assert_says(is, "\"direction\":\"ul\"");
	assert_says(is, "\"id\":1,\"precedence\":255,\"fteid\":\"172.30.3.17/0x00000100\"");
	assert_says(is, "\"match\":[\"ue_ipv4\"],\"outer_header_removal\":0,\"gate\":\"open\"");
	assert_says(is, "\"slot\":3,\"mbr_bits_per_second\":10000");
	assert_says(is, "\"gate\":\"closed\"");
	assert_says(is, "\"urr\":[{\"slot\":3,\"octets\":28,\"packets\":1,\"flags\":[]}]");
	assert_says(is,
		"\"far\":{\"id\":1,\"action\":[\"forward\"],\"interface\":\"n6\","
		"\"outer_header\":\"none\"}");
	assert_says(is,
		"\"outer_header\":\"gtpu_ipv4\",\"peer\":\"172.30.3.100\","
		"\"local\":\"172.30.3.17\",\"port\":2152,\"teid\":\"0x00001100\",\"qfi\":9");
	rig_free(rig);
}

static void
unusual_rules(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	const char *is;

	(void)state;
	rules_usual(&s, 1, RIG_UE, TEID);
	s.n_far = 4;
	s.far[0].flags |= UPF_FAR_REDIRECT;
	s.text = "http://x/\"\\\n";
	s.far[0].text_count = 12;
	s.far[2] = s.far[3] = s.far[1];
	s.far[1].action |= UPF_FAR_DUPL;
	s.far[1].dup_first = 2;
	s.far[1].dup_count = 2;
	s.qer[0].flags = UPF_QER_MBR | UPF_QER_GBR;
	s.qer[0].mbr_ul = s.qer[0].gbr_ul = 1000;
	s.qer[0].gbr_slot = 5;
	s.urr[0].flags = UPF_URR_BEFORE_QOS;
	s.urr[0].quota_far = 0;
	s.n_bar = 1;
	s.bar[0] = (struct upf_bar){.bar_id = 4, .packets_max = 7, .duration_ms = 90};
	s.far[1].bar = 0;
	rules_install(rig, &s);
	is = show(rig, 1);
	assert_json(is);
	assert_says(is, "\"redirect\":\"http://x/\\u0022\\u005c\\u000a\"");
	assert_says(is, "\"action\":[\"forward\",\"duplicate\"]");
	assert_says(is, "\"duplicates\":[{\"interface\":\"n3\"");
	assert_says(is, "\"gbr_bits_per_second\":");
	assert_says(is,
		"\"bar\":[{\"index\":0,\"id\":4,\"packets_max\":7,\"duration_ms\":90,\"delay_ms\":"
		"0}]");
	assert_says(is, "\"quota_far\":1,\"flags\":[\"before_qos\"]");
	rig_free(rig);
}

static void
absent_and_very_long(void **state)
{
	struct rig *rig = rig_create(1, true);
	static struct session_rules_builder s;

	(void)state;
	assert_int_equal(show_session(&rig->base, 7, text, sizeof(text)), 0);
	assert_int_equal(show_session(&rig->base, UINT32_MAX, text, sizeof(text)), 0);
	rules_usual(&s, 7, RIG_UE, TEID);
	for (unsigned i = 2; i < UPF_SESSION_PDRS; i++) {
		s.pdr[i] = s.pdr[1];
		s.pdr[i].pdr_id = (uint16_t)(i + 1);
	}
	s.n_pdr = UPF_SESSION_PDRS;
	rules_install(rig, &s);
	assert_json(show(rig, 7));
	assert_says(text, "\"pdrs_not_shown\":0");
	assert_null(strstr(text, "\"id\":1024,"));
	assert_true(show_session(&rig->base, 7, text, SHOW_ROOM_LEAST) < SHOW_ROOM_LEAST);
	rig_free(rig);
}

int
test_show(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_and_what_they_count),
		cmocka_unit_test(unusual_rules),
		cmocka_unit_test(absent_and_very_long),
	};

	return cmocka_run_group_tests_name("show", tests, NULL, NULL);
}
