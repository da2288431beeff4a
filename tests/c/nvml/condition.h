/* The condition of a GPU, as the file of nvml.c has it. With OLD_DRIVER, NVML has no field from 170 on, as that of driver 525. */
#ifndef NVML_CONDITION_H
#define NVML_CONDITION_H

enum { FIELDS = 48, POWER_AVERAGE = 185, POWER_LIMIT = 190 };
#ifdef OLD_DRIVER
enum { LAST_FIELD = 169 };
static const char driver[] = "525.147.05";
#else
enum { LAST_FIELD = 273 };
static const char driver[] = "580.65.06";
#endif

/* What the file says about the condition of a GPU. */
struct condition {
  unsigned clocks[3], power[2], temperature, use[2], pcie[2];
  unsigned long long reasons;
  bool has_clocks, has_power, has_temperature, has_use, has_reasons, has_pcie;
  struct { unsigned id, scope; unsigned long long value, step; } fields[FIELDS];
  int number;
};

/* Takes a line of the file; false if it is none about the condition. */
static bool condition_line(struct condition *it, const char *line) {
  unsigned id, scope;
  unsigned long long value, step = 0;
  if (sscanf(line, "clocks %u %u %u", &it->clocks[0], &it->clocks[1], &it->clocks[2]) == 3) return it->has_clocks = true;
  if (sscanf(line, "power %u %u", &it->power[0], &it->power[1]) == 2) return it->has_power = true;
  if (sscanf(line, "temperature %u", &it->temperature) == 1) return it->has_temperature = true;
  if (sscanf(line, "use %u %u", &it->use[0], &it->use[1]) == 2) return it->has_use = true;
  if (sscanf(line, "reasons %llx", &it->reasons) == 1) return it->has_reasons = true;
  if (sscanf(line, "pcie_link %u %u", &it->pcie[0], &it->pcie[1]) == 2) return it->has_pcie = true;
  bool is_of_link = sscanf(line, "link_field %u %u %llu", &id, &scope, &value) == 3;
  if (it->number >= FIELDS || (!is_of_link && sscanf(line, "field %u %llu %llu", &id, &value, &step) < 2)) return false;
  if (!is_of_link) scope = 0;
  it->fields[it->number].id = id, it->fields[it->number].scope = scope;
  it->fields[it->number].value = value, it->fields[it->number].step = step;
  it->number++;
  return true;
}

/* Returns the result of a field, and its value. Steps are those of the readings before. */
static int condition_field(const struct condition *it, int readings, unsigned id, unsigned scope, unsigned long long *value) {
  if (id > LAST_FIELD) return INVALID_ARGUMENT;
  for (int i = 0; i < it->number; i++) {
    if (it->fields[i].id != id || it->fields[i].scope != scope) continue;
    *value = it->fields[i].value + (unsigned long long)readings * it->fields[i].step;
    return SUCCESS;
  }
  /* the power, unless its fields are given */
  bool is_power = id == POWER_AVERAGE && it->has_power, is_limit = id == POWER_LIMIT && it->has_power;
  *value = it->power[is_limit];
  return is_power || is_limit ? SUCCESS : NOT_SUPPORTED;
}

#endif
