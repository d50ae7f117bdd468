/* The fixed parts of the report: its style and the script that draws attention maps. */
#ifndef POLYHEAD_DRAW_REPORT_PAGE_H
#define POLYHEAD_DRAW_REPORT_PAGE_H

extern const char ph_report_top[];       /* up to the title */
extern const char ph_report_style[];     /* the rest of the head */
extern const char ph_report_attention[]; /* switches and canvas */
extern const char ph_report_script[];    /* the end of the page */

#endif
